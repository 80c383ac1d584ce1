# WAT'17 Small-NMT English-Japanese: 2,000,000 sentences, 1,790 for validation, 1,812 for the test. NOT RUN at full
# scale. Pieces, dictionaries and embeddings are separate, 16,384 per side. The paper takes the task's own BPE files; here
# they are learned from the text. BLEU is counted on the words of KyTea, which must be installed (SEGMENT).
include $(HERE)/sets/paper.mk
SOURCE := en
TARGET := ja
SEPARATE := yes
VOCAB := 16384
COVERAGE := 0.9995
SEGMENT := kytea -notags
BLEU_TOKENIZE := none
