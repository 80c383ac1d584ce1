"""Workarounds for faults of fairseq.

These are all the patches of fairseq and of the process. They are made when the plug-ins are registered, that of
`gathering` when a task of `text_labelling` is set up.

| what | in | reason |
|---|---|---|
| `checkpoint_utils.load_checkpoint_to_cpu` | `checkpoints` | fairseq evaluates some flags of a checkpoint as Python |
| `checkpoint_utils.load_checkpoint` | `resuming` | fairseq trains on when a complete training is started again |
| `PathManager.copy` | `resuming` | a stop or a full disk leaves a part of the last and the best checkpoint |
| `distributed.utils.all_gather_list` | `gathering` | at most 16 KB, through GPU memory; only for `text_labelling` |
| `mallopt` of glibc | `memory` | memory goes back to the system, and each page of it faults when it is needed again |
| `sys.excepthook` | `errors` | a failed fairseq command ends with one line that says what to do |

`criterions.labelling` adds a class to `fairseq.logging.meters`, where fairseq looks up the meters of a checkpoint.
`gpus` adds to the functions of our own architectures, which fairseq calls when it has read the flags. The rest of this
package are classes that our tasks, datasets and models inherit from, and a function that is called at exit
(`shutdown`).
"""
