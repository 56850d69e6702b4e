package report

import (
	"fmt"
	"strings"
	"time"
)

// mark is a word that tells how something came out, with a sign and a class of the style sheet that repeat it.
type mark struct {
	Word, Sign, Class string
}

func good(word string) mark    { return mark{Word: word, Sign: "✓", Class: "good"} }
func bad(word string) mark     { return mark{Word: word, Sign: "✗", Class: "bad"} }
func unclear(word string) mark { return mark{Word: word, Sign: "?", Class: "unclear"} }

// markOf a verdict, the result of a check, or the outcome of a step. What this program does not know is unclear.
func markOf(word string) mark {
	switch word {
	case "Passed", "Succeeded":
		return good(word)
	case "Failed", "TimedOut":
		return bad(word)
	case "":
		return unclear("not known")
	case "NotChecked":
		return unclear("not checked")
	}
	return unclear(word)
}

// measure is a duration beside its objective.
type measure struct {
	Name, Meaning string
	// Got and Objective are durations as text, or words where there are none.
	Got, Objective string
	Mark           mark
	// Text compares them in words.
	Text string
	// Bar is nil where a bar would need a number that is not known.
	Bar *bar
}

// bar compares two lengths, in percent of its width. Neither is negative or above 100.
type bar struct {
	Got, Objective float64
	// Unlimited tells that there is no objective to draw.
	Unlimited bool
}

// measureOf compares the texts of two durations, either of which may be empty or not parse. Whether the objective is met is the
// result of the drill's own check: a drill that could not verify what it restored has a duration too, which proves nothing.
func measureOf(name, meaning, got, objective, result string) measure {
	m := measure{Name: name, Meaning: meaning, Mark: markOfObjective(result), Got: shown(got, "not measured"), Objective: shown(objective, "none is set")}
	value, known := duration(got)
	limit, limited := duration(objective)
	switch {
	case !known:
		m.Text = "There is no measurement to compare."
	case !limited:
		m.Text = "There is no objective to compare it with."
		m.Bar = &bar{Got: 100, Unlimited: true}
	case value > limit:
		m.Text = fmt.Sprintf("The measurement is %s above it.", brief(value-limit))
		m.Bar = &bar{Got: 100, Objective: percent(limit, value)}
	default:
		m.Text = fmt.Sprintf("The measurement is %s below it.", brief(limit-value))
		m.Bar = &bar{Got: percent(value, limit), Objective: 100}
	}
	if known && limited && result == "" {
		m.Text = "The drill did not get as far as checking this."
	}
	return m
}

func markOfObjective(result string) mark {
	switch result {
	case "Passed":
		return good("met")
	case "Failed":
		return bad("missed")
	}
	return unclear("not checked")
}

// duration reads one of a document. What does not parse, or is negative, is not known.
func duration(text string) (time.Duration, bool) {
	value, err := time.ParseDuration(text)
	return value, err == nil && value >= 0
}

// shown is how the text of a duration is shown: as brief as it can be, as it is if it does not parse, or what stands for none.
func shown(text, none string) string {
	if text == "" {
		return none
	}
	if value, known := duration(text); known {
		return brief(value)
	}
	return fmt.Sprintf("%q, which is no duration", text)
}

// brief is a duration in whole units where it has them: 26h, not 26h0m0s.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// percent is what part is of the whole, from 0 to 100. A part of nothing is 0.
func percent(part, whole time.Duration) float64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return min(100, 100*float64(part)/float64(whole))
}
