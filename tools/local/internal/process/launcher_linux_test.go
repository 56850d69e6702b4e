package process

import "testing"

func TestTiedProgramsEndWithTheirTable(t *testing.T) {
	table, dir := newTable(t, Detached)
	tied, err := NewTable(table.dir, Tied)
	if err != nil {
		t.Fatal(err)
	}
	p := startShell(t, tied, dir, "exec sleep 100")
	tied.Close()
	eventually(t, "the program outlives the table", func() bool { return !p.Alive() })
}
