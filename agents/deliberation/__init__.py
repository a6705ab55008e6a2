"""Language models that think about a gig market before they bid or train: what react, cot and ssa share."""
