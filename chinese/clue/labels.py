"""Labels of the tasks that have many, in the order of their classes."""

BINARY = ("0", "1")

TRUTH = ("true", "false")

TNEWS = tuple(str(code) for code in range(100, 117) if code not in (105, 111))
"""TNEWS's codes: 105 and 111 are not given."""

IFLYTEK = tuple(str(code) for code in range(119))

NLI = ("contradiction", "entailment", "neutral")

CLUENER = (
    "address",
    "book",
    "company",
    "game",
    "government",
    "movie",
    "name",
    "organization",
    "position",
    "scene",
)

CSLDCP = (
    "材料科学与工程",
    "作物学",
    "口腔医学",
    "药学",
    "教育学",
    "水利工程",
    "理论经济学",
    "食品科学与工程",
    "畜牧学/兽医学",
    "体育学",
    "核科学与技术",
    "力学",
    "园艺学",
    "水产",
    "法学",
    "地质学/地质资源与地质工程",
    "石油与天然气工程",
    "农林经济管理",
    "信息与通信工程",
    "图书馆、情报与档案管理",
    "政治学",
    "电气工程",
    "海洋科学",
    "民族学",
    "航空宇航科学与技术",
    "化学/化学工程与技术",
    "哲学",
    "公共卫生与预防医学",
    "艺术学",
    "农业工程",
    "船舶与海洋工程",
    "计算机科学与技术",
    "冶金工程",
    "交通运输工程",
    "动力工程及工程热物理",
    "纺织科学与工程",
    "建筑学",
    "环境科学与工程",
    "公共管理",
    "数学",
    "物理学",
    "林学/林业工程",
    "心理学",
    "历史学",
    "工商管理",
    "应用经济学",
    "中医学/中药学",
    "天文学",
    "机械工程",
    "土木工程",
    "光学工程",
    "地理学",
    "农业资源利用",
    "生物学/生物科学与工程",
    "兵器科学与技术",
    "矿业工程",
    "大气科学",
    "基础医学/临床医学",
    "电子科学与技术",
    "测绘科学与技术",
    "控制科学与工程",
    "军事学",
    "中国语言文学",
    "新闻传播学",
    "社会学",
    "地球物理学",
    "植物保护",
)
"""FewCLUE's disciplines. Source: CLUEbenchmark/FewCLUE at 62a02c6f, `labels_all.txt`."""
