from advisor.reproduce.gbbp import HISTORIES, reproduce, study_shipped_trace, text


def test_the_shipped_recording_answers_the_papers_question():
    found = study_shipped_trace()
    rows = found["studies"][0]["rows"]
    assert found["duration_s"] > 3600
    assert [row["history"] for row in rows] == list(HISTORIES)
    assert all(0 <= row["hit_ratio"] <= 1 and row["area_s"] > 0 for row in rows)
    assert rows[-1]["hit_ratio"] > rows[0]["hit_ratio"]
    assert rows[-1]["area_s"] > rows[0]["area_s"]


def test_the_text_has_a_line_per_history():
    lines = text(reproduce()).splitlines()
    assert sum("%" in line for line in lines) >= len(HISTORIES)
