"""The names of the graphs and of their inputs and outputs: exported folders have them, so none of them may change."""

ENCODER, DECIDE, FILL = "encoder", "decide", "fill"  # the graphs of a levt
START, STEP, SCORE = "start", "step", "score"  # ... of a model that writes from left to right
LABEL = "label"  # ... of an enct5, whose inputs are those of ``EncT5.forward``

WORDS = "words"  # tokens: ids (B, T), or for a levt and an enct5, their features (F, B, T)
TEXTS = "texts"  # the outputs to score, (B, T)
MEMORY, SOURCE_MASK = "memory", "real"  # the encoded sources; True = not padding
PLACEHOLDERS = "holes"  # positions of the placeholders (n,)
# with --spelling
NGRAMS = ("parts", "owners", "number")  # n-grams of the unknown words, the words that have them, n-grams of each word
UNKNOWN_VECTORS = "rare"  # vectors of the unknown words (U, C)
REMOVED = ("removed", "count")  # the fields of ``RemovedTokens``
CANDIDATES = ("near", "alike", "slips", "shape", "replaced")  # the fields of ``CandidateTensors``; older graphs have 4
SPELLED = "spelled"  # in ``onnx.compact``: the removed words as ids of words of the batch, (B, T)
# with --backbone
PIECES = ("pieces", "where", "word")  # the fields of ``PiecesInRows``
SOURCE_STATES, SOURCE_ALIGNMENT = "beside", "places"  # states of the encoder, and the position that each token reads

DECISIONS = ("deletion", "nothing", "best", "something", "insertions")  # outputs, which are read by their order
CHOICES = ("best", "chosen")  # the best words for each placeholder, and their log-probabilities
SCORES = "scores"
GROWING = "grown"  # begins the names of the parts of a decoder's state that get longer with each word
ROWS = "B"  # the size along which beam search selects rows of the state
