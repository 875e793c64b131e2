"""Writes tests/golden/qwen35_tokenizer: a small tokenizer in Qwen3.5's layout and ids made with it.

tokenizer.json is trained here, on the lines of CORPUS; cases.json holds texts with their ids, as
tokenizers computes them, and chats with their text and ids, as transformers' apply_chat_template
renders them.
"""

# ruff: noqa: RUF001

import argparse
import json
import random
import sys
import tempfile
import unicodedata
from pathlib import Path

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast
from transformers.models.qwen3_5.tokenization_qwen3_5 import PRETOKENIZE_REGEX

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "qwen35_tokenizer"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
THOUGHT = ["<think>", "</think>"]
SYSTEM = "You are a helpful assistant. Generate the video with the following instructions."

CORPUS = [
    "A red fox walks through fresh snow at dawn while the camera slowly follows it.",
    "The fox doesn't stop; it's looking for the river that they've crossed before.",
    "In the evening light the city's towers shine, and I'll remember they were gold.",
    "Ein Fuchs läuft durch den Schnee, während die Kamera ihm langsam über die Wiese folgt.",
    "Un renard élégant traverse la forêt; café, naïve, déjà vu, où l'été s'achève.",
    "Лиса идёт по свежему снегу, а камера медленно следует за ней через лес.",
    "Η αλεπού περπατά στο χιόνι την αυγή και η κάμερα την ακολουθεί.",
    "一只红狐狸在黎明的雪地里行走，镜头缓缓跟随。城市的灯光在夜里闪烁。",
    "夜明けの雪の中を赤いキツネが歩き、カメラがゆっくりと追いかける。",
    "붉은 여우가 새벽 눈밭을 걷고 카메라가 천천히 따라간다.",
    "ثعلب أحمر يمشي في الثلج عند الفجر والكاميرا تتبعه ببطء.",
    "שועל אדום הולך בשלג עם שחר והמצלמה עוקבת אחריו לאט.",
    "लाल लोमड़ी भोर में बर्फ पर चलती है और कैमरा धीरे-धीरे पीछे चलता है।",
    "สุนัขจิ้งจอกสีแดงเดินผ่านหิมะยามรุ่งอรุณ",
    "Con cáo đỏ đi qua tuyết lúc bình minh, máy quay chậm rãi theo sau.",
    "Shot 1: 24 fps, 704 x 1248, 13 s; f/2.8, ISO 100 -- [wide], {slow}, (calm) #fox @dawn!",
    "🦊❄️🎥 👩‍👩‍👧‍👦 🇩🇪 👍🏽 ✨",
]

TEXTS = [
    "",
    " ",
    "a",
    "The quick brown fox jumps over the lazy dog.",
    "  leading and trailing  ",
    "tabs\tand\t\ttabs",
    "line\nbreaks\n\n\nand\r\ncarriage\r\r\nreturns \n  mixed \t\n end",
    "trailing spaces   \n   next",
    "don't DON'T I'll WE'RE they'Ve 'Tis it'ſ he'S 'd",
    "numbers 1 12 123 1234567890 ٣٤٥ ४५६ Ⅷ ½ ²",
    "punctuation!!! ... ,,, --- *** ??? (a) [b] {c} <d> \"e\" 'f' `g` ~h^ |i| \\j/",
    "snake_case camelCase SCREAMING_CASE kebab-case a.b.c a/b a+b=c",
    "Лиса идёт по снегу",
    "狐狸在雪地里行走，天亮了。",
    "夜明けのキツネ カタカナ ひらがな ｶﾀｶﾅ",
    "붉은 여우 가각힣",
    "ثعلب أحمر",
    "שועל אדום",
    "लाल लोमड़ी कैमरा",
    "สุนัขจิ้งจอกสีแดง",
    "የቀይ ቀበሮ ᏣᎳᎩ ᚠᚢᚦ 𐌰𐌱𐌲 𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "🦊",
    "👩‍👩‍👧‍👦 family 👍🏽 flag 🇩🇪🇫🇷 ❄️ 1️⃣",
    "cafe\u0301 e\u0301\u0327 \u0041\u030a \u1e9b\u0323 q\u0307\u0323",
    "\u1112\u1161\u11ab Hangul jamo \u1100\u1161",
    "\u0301 starts with a mark, a\u0300\u0301\u0302\u0303\u0304 many",
    "\u212b \u2126 \ufb01 \u2460 \u00bd stay or compose",
    "\u0344 \u0958 \u2adc \uf900",
    "control \x00 \x01 \x07 \x08 \x0b \x0c \x1b[31m \x1c\x1d\x1e\x1f \x7f \x85 \x9f",
    "spaces \u00a0 \u1680 \u2000\u2003\u200a \u2028 \u2029 \u202f \u205f \u3000 end",
    "invisible \u180e \u200b \u200c \u200d \u2060 \ufeff \u00ad end",
    "\u180e\u180e \u180e a\u180eb",
    "\x85\x85 \x85 a\x85b",
    "private \ue000 \uf8ff \U000f0000 \U0010fffd unassigned \u0378 \uffff \U0001fffe",
    "bidi \u202e gnirts \u202c \u2066x\u2069",
    "<|im_start|>user\nhello<|im_end|>",
    "before<|endoftext|>after <|im_end|> <|im_start|",
    "<|im_start|><|im_start|><|im_end|>",
    "<think>hmm</think> <THINK> < think>",
    "<<|im_end|>> <|im_end<|im_end|>|>",
    "Éclair e\u0301clair ÉCLAIR: Élan E\u0301lan",
    "xÉlanx",
    "word" * 50,
    "狐" * 80,
    "a" * 200,
    " " * 130,
    " " * 40 + "x",
    "\n" * 70,
    "ab" * 60 + "\u0301" * 40,
    "!" * 100 + "\n\n" + "?" * 33,
]


def train() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(fuse_unk=False, byte_fallback=False))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PRETOKENIZE_REGEX), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
        ]
    )
    tokenizer.post_processor = processors.ByteLevel(
        add_prefix_space=False, trim_offsets=False, use_regex=False
    )
    tokenizer.decoder = decoders.ByteLevel(
        add_prefix_space=False, trim_offsets=False, use_regex=False
    )
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    tokenizer.add_special_tokens([AddedToken(t, normalized=False) for t in SPECIAL])
    tokenizer.add_tokens([AddedToken(t, normalized=False) for t in THOUGHT])
    tokenizer.add_tokens([AddedToken("Élan", normalized=True)])
    return tokenizer


def random_texts(count: int) -> list[str]:
    """Strings of characters of every kind; the same ones on every machine."""
    generator = random.Random(7)
    pools = [
        [c for c in map(chr, range(0x20, 0x7F))],
        [" ", "  ", "\n", "\r\n", "\t", "'", "'s", "'LL", "\u00a0", "\u3000", "\x85", "\u2028"],
        [c for c in map(chr, range(0x80, 0x2FFF)) if unicodedata.category(c) != "Cn"],
        [c for c in map(chr, range(0x300, 0x370))],
        [c for c in map(chr, range(0x4E00, 0x4F00))],
        [c for c in map(chr, range(0x1F300, 0x1F650))],
        [*SPECIAL, *THOUGHT, "E\u0301lan"],
    ]
    weights = [8, 4, 6, 3, 2, 2, 1]
    texts = []
    for _ in range(count):
        length = generator.randrange(1, 40)
        chosen = generator.choices(pools, weights, k=length)
        texts.append("".join(generator.choice(pool) for pool in chosen))
    return texts


MESSAGES = """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content|trim + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- set content = message.content|trim %}
    {%- if message.role == "user" %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
"""
# The structures that Qwen's releases have.
TEMPLATES = {
    "thinks unless told not to": MESSAGES
    + """{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- else %}
        {{- '<think>\\n' }}
    {%- endif %}
{%- endif %}""",
    "thinks when told to": MESSAGES
    + """{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is true %}
        {{- '<think>\\n' }}
    {%- else %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
    "opens no thought": """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
    "one line": "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\\n' }}{% endif %}",
}
PROMPTS = [
    "A red fox walks through fresh snow.",
    " ",
    "",
    " \u2003\x1c stripped?\u00a0\u200b\u3000 \x85",
    "two\n\nparagraphs, e\u0301 and <|im_end|> in it",
    "<|im_start|>user\nA header inside the prompt",
    "The fox runs. " * 1200,
]


def chats(folder: Path) -> list[dict]:
    result = []
    for name, template in TEMPLATES.items():
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"), chat_template=template
        )
        for prompt in PROMPTS if name in list(TEMPLATES)[:1] else PROMPTS[:5]:
            messages = [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": prompt},
            ]
            text = tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
            ids = tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, return_dict=False
            )
            result.append({"template": name, "prompt": prompt, "text": text, "ids": ids})
    return result


def encode_all(tokenizer: Tokenizer, texts: list[str]) -> list[dict]:
    return [
        {"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids}
        for text in texts
    ]


def variants(layout: dict, texts: list[str]) -> list[dict]:
    """The same tokenizer with some of its file replaced, and what it then gives."""
    changes = [
        {"name": "no normalizer", "normalizer": None},
        {
            "name": "GPT-2's expression",
            "pre_tokenizer": {
                "type": "ByteLevel",
                "add_prefix_space": False,
                "trim_offsets": True,
                "use_regex": True,
            },
        },
        # Tokens that no merge makes any more are found whole, and only so.
        {"name": "whole pieces first", "ignore_merges": True, "dropped_merges": 200},
        {"name": "fewer merges", "ignore_merges": False, "dropped_merges": 200},
    ]
    for change in changes:
        changed = json.loads(json.dumps(layout))
        for key in ("normalizer", "pre_tokenizer"):
            if key in change:
                changed[key] = change[key]
        if "ignore_merges" in change:
            changed["model"]["ignore_merges"] = change["ignore_merges"]
            del changed["model"]["merges"][-change["dropped_merges"] :]
        change["cases"] = encode_all(Tokenizer.from_str(json.dumps(changed)), texts)
    return changes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=GOLDEN, help="default: %(default)s")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)

    trained = train()
    layout = json.loads(trained.to_str())
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "tokenizer.json").write_text(json.dumps(layout, ensure_ascii=False))
        cases = {
            "texts": encode_all(trained, TEXTS + random_texts(80)),
            "variants": variants(layout, TEXTS[:44]),
            "templates": TEMPLATES,
            "chats": chats(Path(scratch)),
        }
    for name, value in (("tokenizer.json", layout), ("cases.json", cases)):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        (output / name).write_text(text + "\n")
    config = {"tokenizer_class": "Qwen2Tokenizer", "chat_template": next(iter(TEMPLATES.values()))}
    (output / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")

    different = [
        variant["name"]
        for variant in cases["variants"]
        if [c["ids"] for c in variant["cases"]] != [c["ids"] for c in cases["texts"]][:44]
    ]
    print(
        f"{len(cases['texts'])} texts, {len(cases['chats'])} chats; variants that show: {different}"
    )
    return 0 if len(different) == len(cases["variants"]) else 1


if __name__ == "__main__":
    sys.exit(main())
