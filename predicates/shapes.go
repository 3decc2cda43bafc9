package predicates

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// dateLayouts are the unambiguous ways to write a full date. Day and month in
// digits ("03/04/1990") are not among them: that could be two dates.
var dateLayouts = []string{
	"2006-01-02", "2006/01/02", "2 January 2006", "2 Jan 2006", "January 2 2006", "Jan 2 2006",
}

var yearlessLayouts = []string{"--01-02", "2 January", "2 Jan", "January 2", "Jan 2"}

var ordinal = regexp.MustCompile(`(?i)\b(\d{1,2})(st|nd|rd|th)\b`)

// isoDate writes a date as ISO 8601; a text that is none stays as it is.
func isoDate(s string) (string, bool) {
	plain := ordinal.ReplaceAllString(s, "$1")
	plain = strings.NewReplacer(",", " ", ".", " ", " of ", " ", " the ", " ").Replace(" " + plain + " ")
	plain = strings.Join(strings.Fields(plain), " ")
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, plain); err == nil {
			return t.Format("2006-01-02"), true
		}
	}
	for _, layout := range yearlessLayouts {
		// A leap year, so that 29 February parses.
		if t, err := time.Parse("2006 "+layout, "2000 "+plain); err == nil {
			return t.Format("--01-02"), true
		}
	}
	return s, true
}

var smallNumbers = map[string]int{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
	"seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
	"sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}

// wholeNumber takes the number out of "30 years old" and "thirty-two".
func wholeNumber(s string) (string, bool) {
	total, found := 0, false
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(c rune) bool { return c == ' ' || c == '-' }) {
		if n, err := strconv.Atoi(w); err == nil && n >= 0 && !found {
			return strconv.Itoa(n), true
		}
		n, ok := smallNumbers[w]
		if !ok {
			break
		}
		total, found = total+n, true
	}
	return strconv.Itoa(total), found
}

// phoneDigits keeps the digits and a leading plus; 00 is the same as plus.
// Source: E.164, at most 15 digits; 5 is the shortest that is dialled.
func phoneDigits(s string) (string, bool) {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9':
			b.WriteRune(c)
		case c == '+' && b.Len() == 0:
			b.WriteRune(c)
		case !strings.ContainsRune(" ()-./", c):
			return "", false
		}
	}
	d := b.String()
	if rest, ok := strings.CutPrefix(d, "00"); ok {
		d = "+" + rest
	}
	n := len(strings.TrimPrefix(d, "+"))
	return d, n >= 5 && n <= 15
}

var emailShape = regexp.MustCompile(`^[^\s@]+@[^\s@]+\.[^\s@]+$`)

func emailAddress(s string) (string, bool) {
	s = display(strings.ToLower(s))
	return s, emailShape.MatchString(s)
}

var zoneOffset = regexp.MustCompile(`(?i)^(?:utc|gmt)\s*([+-\x{2212}])\s*(\d{1,2})(?::?([0-5]\d))?$`)

// zoneName writes offsets as UTC+02:00; names are terms of the registry.
// actionName writes the name of an action in words: "book_slot" is "book slot".
func actionName(s string) (string, bool) {
	return strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c == '_' || c == '-' || c == ' ' }), " "), true
}

func zoneName(s string) (string, bool) {
	m := zoneOffset.FindStringSubmatch(s)
	if m == nil {
		return s, true
	}
	sign := "+"
	if m[1] != "+" {
		sign = "-"
	}
	hours, _ := strconv.Atoi(m[2])
	if hours > 14 {
		return "", false
	}
	minutes := m[3]
	if minutes == "" {
		minutes = "00"
	}
	if hours == 0 && minutes == "00" {
		return "UTC", true
	}
	return fmt.Sprintf("UTC%s%02d:%s", sign, hours, minutes), true
}
