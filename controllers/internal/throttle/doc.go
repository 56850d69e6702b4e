// Package throttle spaces the writes of a status that only mirrors something which others change as often as they like,
// such as the health of what runs in a customer's cluster. News is written at once. What only mirrors is written at once as
// well where nothing of that kind was written for a while, and otherwise when that while has passed: the latest state then.
//
// What only mirrors is decided by the caller, apart from conditions: a status and a reason of a condition that were not told
// yet of what people asked for last are news, and everything else about conditions mirrors. So a first success and a first
// failure are told at once, and what goes back and forth between the two is not.
//
// It is pure, and knows no kind.
package throttle
