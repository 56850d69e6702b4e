// Package functions is what templates may call beside text/template's own functions. All of them are pure: none reaches the
// network, the environment, a file or a clock, and none is random. What a function says of a bad input quotes no value.
package functions
