"""The marks on a draft as one integer per token, which moves with it; 0 = no mark.

The low bits say what a person requested. The rest is the number of the protected span that the token belongs to, so
that two adjacent spans stay separate.
"""

KEEP = 1  # hard protection: never deleted
PREFER = 2  # soft protection: deleted only if the policy is sure
DELETE = 4  # deleted in the first iteration
INSERT = 8  # something is inserted after this token in the first iteration
SPAN = 16  # times the number of the span, from 1


def in_one_span(left: int, right: int) -> bool:
    """Returns whether two neighbouring tokens with these bits belong to the same protected span.

    >>> in_one_span(KEEP + SPAN, KEEP + SPAN), in_one_span(KEEP + SPAN, KEEP + 2 * SPAN)
    (True, False)
    """
    return left // SPAN == right // SPAN
