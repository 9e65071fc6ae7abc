from lm.bpe import train as run_train_bpe
from lm.checkpointing import load_checkpoint as run_load_checkpoint
from lm.checkpointing import save_checkpoint as run_save_checkpoint
from lm.optimizer import AdamW
from lm.optimizer import cosine as run_get_lr_cosine_schedule
from lm.optimizer import gradient_clipping as run_gradient_clipping
from lm.sampling import sample as run_get_batch
from lm.tokenizer import BPE


def get_adamw_cls():
    return AdamW


def get_tokenizer(vocab, merges, special_tokens=None):
    return BPE(vocab, merges, special_tokens)
