# an editor with spelling-aware words
ARCH := levt
LEVT_TOKENS := 5000
LEVT_UPDATES := 700
LEVT_LR := 0.003
