# IMDb: 50,000 film reviews (`fetch.py imdb TEXT`), made noisy in four ways (Table 3, 29 % of the words). NOT RUN at full scale.
include $(HERE)/sets/paper.mk
NOISES := random,keyboard,swap,delete
WORD_RATE := 0.29
