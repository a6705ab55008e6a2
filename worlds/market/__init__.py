"""A gig market: agents bid for jobs, train their skills and build reputations (Chiu et al., arXiv:2512.04988)."""
