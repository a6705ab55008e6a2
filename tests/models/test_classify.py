"""Each server's own wording, sorted into kinds."""

import email.utils
import json

import pytest

from worldloom.core.errors import ModelErrorKind
from worldloom.models.classify import Refused, failure


def kind(status: int | None, body: object, **headers: str) -> ModelErrorKind:
    text = body if isinstance(body, str) else json.dumps(body)
    return failure(Refused(status, text, headers), now=0.0).kind


def openai_error(message: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": message, **fields}}


OVERFLOWS: list[tuple[int, object]] = [
    # vLLM, three generations
    (400, {"object": "error", "message": "This model's maximum context length is 2048 tokens. However, you requested "
           "2300 tokens (2000 in the messages, 300 in the completion).", "type": "BadRequestError", "code": 400}),
    (400, openai_error("'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context "
                       "length is 4096 tokens and your request has 12 input tokens", type="BadRequestError", code=400)),
    (400, openai_error("The decoder prompt (length 9000) is longer than the maximum model length of 4096.")),
    (400, openai_error("max_tokens must be at least 1, got -20.", type="BadRequestError", param="max_tokens")),
    (400, openai_error("max_completion_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)")),
    (400, openai_error("Prompt length of 5016 is longer than the maximum model length of 4096.")),
    # llama-server, new and old
    (400, openai_error("request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it",
                       code=400, type="exceed_context_size_error", n_prompt_tokens=6031, n_ctx=4096)),
    (500, openai_error("context size has been exceeded", code=500, type="server_error")),
    (500, openai_error("Input prompt is too big compared to KV size. Please try increasing KV size.", code=500)),
    (500, openai_error("input is too large to process. increase the physical batch size", code=500)),
    (500, openai_error("could not find a KV slot for the batch (try reducing the size of the batch or increase the "
                       "context)")),
    # SGLang
    (400, {"object": "error", "message": "The input (5000 tokens) is longer than the model's context length (4096 "
           "tokens).", "type": "BadRequestError", "code": 400}),
    (400, {"message": "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested "
           "a total of 5000 tokens"}),
    (400, {"object": "error", "message": "Input length (11 tokens) exceeds the maximum allowed length (10 tokens)."}),
    # TensorRT-LLM
    (400, openai_error("Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)")),
    # Ollama, LM Studio, TGI
    (400, openai_error("prompt too long; exceeded max context length by 12 tokens", type="invalid_request_error")),
    (500, {"error": "the input length exceeds the context length"}),
    (400, {"error": "Trying to keep the first 5112 tokens when context the overflows. However, the model is loaded "
           "with context length of only 4096 tokens"}),
    (400, {"error": "The number of tokens to keep from the initial prompt is greater than the context length"}),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
           "error_type": "validation"}),
    (422, {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000"}),
    # hosted
    (400, openai_error("Your input exceeds the context window of this model.", code="context_length_exceeded")),
    (400, openai_error("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in ...")),
    (400, {"type": "error", "error": {"type": "invalid_request_error",
                                      "message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
    (400, {"type": "error", "error": {"type": "invalid_request_error", "message":
           "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}),
    (413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
    (400, [openai_error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                        code=400, status="INVALID_ARGUMENT")]),
    (400, {"message": "Input is too long for requested model."}),
    (400, {"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081"}),
    (400, {"object": "error", "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with "
           "32768 maximum context length", "type": "invalid_request_prompt_too_long"}),
    (400, openai_error("Please reduce the length of the messages or completion.", code="context_length_exceeded")),
    (400, {"error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}),
    (400, openai_error("Invalid request: Your request exceeded model token limit: 8192")),
    (400, openai_error("Range of input length should be [1, 30720]")),
    (413, "<html>413 Request Entity Too Large</html>"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), OVERFLOWS)
def test_an_overflow_is_told_in_each_servers_words(status: int, body: object) -> None:
    assert kind(status, body) == "overflow"


OTHERS: list[tuple[int | None, object, ModelErrorKind]] = [
    (429, openai_error("You exceeded your current quota, please check your plan and billing details.",
                       type="insufficient_quota", code="insufficient_quota"), "quota"),
    (400, {"type": "error", "error": {"type": "invalid_request_error", "message":
           "Your credit balance is too low to access the Anthropic API."}}, "quota"),
    (402, openai_error("Insufficient Balance"), "quota"),
    (402, "", "quota"),
    (400, openai_error("Budget has been exceeded! Current cost: 12.1", type="budget_exceeded"), "quota"),
    (429, openai_error("Rate limit reached for gpt-x on tokens per min (TPM): Limit 30000, Requested 40000. Visit "
                       "https://platform.openai.com/account/rate-limits", code="rate_limit_exceeded"), "rate_limited"),
    (429, openai_error("Request too large: this model's maximum context length is fine, slow down"), "rate_limited"),
    (429, {"message": "Too many tokens, please wait before trying again."}, "rate_limited"),
    (429, [openai_error("You exceeded your current quota, please check your plan and billing details. Please retry "
                        "in 34.07s.", code=429, status="RESOURCE_EXHAUSTED")], "rate_limited"),
    (429, [openai_error("You exceeded your current quota. Please retry in 34.07s.", code=429, details=[
        {"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}, {"retryDelay": "34s"}])], "quota"),
    (429, "", "rate_limited"),
    (429, openai_error("Rate limit reached for gpt-x on requests per min (RPM): Limit 3. You can increase your limit "
                       "by adding a payment method at https://platform.openai.com/account/billing."), "rate_limited"),
    (400, openai_error("max_tokens is too large: 50000. This model supports at most 16384 completion tokens, whereas "
                       "you provided 50000."), "bad_request"),
    (400, openai_error("max_tokens must be at least 10, got 3"), "bad_request"),
    (422, {"error": "Input validation error: `max_new_tokens` must be strictly positive"}, "bad_request"),
    (400, openai_error("Invalid schema for response_format 'answer': 'additionalProperties' is due"), "bad_request"),
    (400, openai_error("Invalid 'seed': integer above maximum value 9223372036854775807"), "bad_request"),
    (400, openai_error("The model `x` does not support image input"), "bad_request"),
    (401, openai_error("Incorrect API key provided", code="invalid_api_key"), "auth"),
    (401, "Unauthorized", "auth"),
    (403, openai_error("Country, region, or territory not supported"), "auth"),
    (400, [openai_error("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT")], "auth"),
    (404, {"object": "error", "message": "The model `x` does not exist.", "code": 404}, "not_found"),
    (404, openai_error("model 'x' not found, try pulling it first"), "not_found"),
    (404, {"detail": "Not Found"}, "not_found"),
    (405, {"detail": "Method Not Allowed"}, "not_found"),
    (403, openai_error("Project does not have access to model x", code="model_not_found"), "not_found"),
    (400, openai_error("qwen is not a valid model ID"), "not_found"),
    (307, "", "not_found"),
    (500, "Internal Server Error", "overloaded"),
    (502, "<html><h1>502 Bad Gateway</h1></html>", "overloaded"),
    (503, openai_error("Loading model", type="unavailable_error"), "overloaded"),
    (504, "", "overloaded"),
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded"),
    (520, "<html>Cloudflare</html>", "overloaded"),
    (408, "", "timeout"),
    (400, openai_error("The response was filtered due to the prompt triggering Azure OpenAI's content management "
                       "policy.", code="content_filter"), "refusal"),
    (403, openai_error("x requires moderation on y. Your input was flagged for \"violence\"."), "refusal"),
    (400, openai_error("Unsupported value: 'temperature'", code="unsupported_value"), "bad_request"),
    (400, openai_error("Conversation roles must alternate user/assistant/user/assistant/..."), "bad_request"),
    (422, {"detail": [{"type": "missing", "loc": ["body", "messages"], "msg": "Field required",
                       "input": {"note": "the prompt is too long and my api key is invalid"}}]}, "bad_request"),
    (501, "", "bad_request"),
    (None, openai_error("boom"), "bad_reply"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "expected"), OTHERS)
def test_other_refusals_are_told_apart(status: int | None, body: object, expected: ModelErrorKind) -> None:
    assert kind(status, body) == expected


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after": "1.5"}, "", 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": email.utils.formatdate(1_000_030.0, usegmt=True)}, "", 30.0),
        ({"retry-after": email.utils.formatdate(999_000.0, usegmt=True)}, "", 0.0),
        ({"retry-after": "-5"}, "", 0.0),
        ({"retry-after": "inf"}, "", float("inf")),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "Fri, 99 Foo 2026 99:99:99 GMT"}, "", None),
        ({}, '[{"error": {"details": [{"retryDelay": "34s"}]}}]', 34.0),
        ({}, "", None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(
    headers: dict[str, str], body: str, expected: float | None
) -> None:
    assert failure(Refused(429, body, headers), now=1_000_000.0).retry_after_s == expected


def test_what_a_server_says_is_shown_on_one_short_line_without_control_characters() -> None:
    error = failure(Refused(400, "\x1b[31mred\x1b[0m\nnext\u202e" + "x" * 9000, {}), now=0.0)
    assert str(error).isprintable()
    assert len(str(error)) < 600


@pytest.mark.parametrize(
    "body", ["[" * 100_000, "\ud800", "{}", "[]", "null", '{"error": 5}', '{"error": {"message": []}}']
)
def test_no_error_body_breaks_the_sorting(body: str) -> None:
    assert failure(Refused(400, body, {}), now=0.0).kind == "bad_request"
