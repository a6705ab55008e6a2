"""What the parser complains of, in words for people who do not know how a parser works."""

from yaml import MarkedYAMLError, YAMLError

# (part of the parser's message, what is said, what is allowed); the first that fits is used.
# `{there}` is the line at which the surrounding construct begins, `{character}` what stands at the error.
_TABLE = (
    ("maximum nesting", "too many levels inside one another", "at most 100 levels"),
    ("tab character", "a tab", "spaces; quoted text, if it holds a tab"),
    (
        "cannot start any token",
        "{character} cannot begin a value",
        "quoted text, if it begins with {character}",
    ),
    (
        "mapping values are not allowed",
        "a colon where no key may end",
        "`key: value` on a line of its own, in the column of its neighbours; quoted text, if it holds ': '",
    ),
    ("could not find expected ':'", "a key without a colon", "`key: value`, or `- item` in a list"),
    (
        "unknown escape character",
        "an unknown escape in double quotes",
        r"\n \t \" \\ \uXXXX and the like; in single quotes a backslash is plain text",
    ),
    (
        "Unicode character escape",
        "an escape that names no character, such as half of a surrogate pair",
        r"the character itself, or \UXXXXXXXX with its code point",
    ),
    ("hexdecimal number", "an escape with too few hexadecimal digits", r"\xXX, \uXXXX or \UXXXXXXXX"),
    ("hexadecimal numbers", "an escape with too few hexadecimal digits", r"\xXX, \uXXXX or \UXXXXXXXX"),
    ("unexpected end of stream", "the quote in line {there} is never closed", "a closing quote"),
    ("unexpected document", "the quote in line {there} is never closed", "a closing quote"),
    ("',' or ']'", "the list that begins with [ in line {there} does not go on here", "a comma or ]"),
    ("',' or '}'", "the mapping that begins with {{ in line {there} does not go on here", "a comma or }}"),
    (
        "while parsing a block mapping",
        "this does not belong to the mapping that begins in line {there}",
        "another `key: value`, its key in the column of the first one; nothing after a closing quote",
    ),
    (
        "while parsing a block collection",
        "this does not belong to the list that begins in line {there}",
        "another `- item`, its dash in the column of the first one",
    ),
    ("sequence entries are not allowed", "a list item where none may stand", "`- item` on a line of its own"),
    (
        "mapping keys are not allowed",
        "a `?` where no key may stand",
        "`key: value`; quoted text, if it begins with ?",
    ),
    ("node content", "no value can begin here", "text, a number, true, false, null, a list, a mapping"),
    ("document start", "text after the end of the document", "one document a file"),
    ("directive", "a directive that is not known", "no directive: every file is read as YAML 1.2"),
    ("incompatible YAML document", "a version of YAML that is not known", "no directive: YAML 1.2 is read"),
    ("while scanning an alias", "a * without the name of an anchor", "quoted text, if it begins with *"),
    ("while scanning an anchor", "a & without a name", "quoted text, if it begins with &"),
    ("tag", "a tag (!…)", "no tags; quoted text, if it begins with !"),
    ("while scanning a block scalar", "an unknown header of | or >", "| or >, then - or + if need be"),
)
# For these the place of the error is where the construct began, not where the parser gave up.
_AT_THE_START = ("could not find expected ':'", "unexpected end of stream", "unexpected document")


def explain(error: YAMLError, lines: list[str]) -> tuple[int, int, str, str]:
    """Line, column (both from 1), what was found and what is allowed."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return 0, 0, "this cannot be read as YAML", "YAML 1.2"
    problem, context = str(error.problem), str(error.context or "")
    start = error.context_mark or error.problem_mark
    mark = start if any(part in problem for part in _AT_THE_START) else error.problem_mark
    line, column = mark.line + 1, mark.column + 1
    if line > len(lines):
        line, column = len(lines), len(lines[-1]) + 1
    character = lines[line - 1][column - 1 : column]
    if character == "\t" and "cannot start" in problem:
        problem = "tab character"
    for part, found, allowed in _TABLE:
        if part in problem or part in context:
            values = {"there": start.line + 1, "character": repr(character)}
            return line, column, found.format(**values), allowed.format(**values)
    return line, column, problem, "YAML 1.2"
