package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// starterVariable makes the test's binary start a tied program in the directory
// that it names, and wait to be killed.
const starterVariable = "PROCESS_TEST_STARTER"

func TestMain(m *testing.M) {
	dir := os.Getenv(starterVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	table, err := NewTable(filepath.Join(dir, "run"), Tied)
	if err == nil {
		_, err = table.Start(Spec{
			Name: "program", Path: "/bin/sh", Args: []string{"-c", "exec sleep 100"}, Log: filepath.Join(dir, "log"),
		})
	}
	fmt.Println(err)
	select {}
}

func TestATiedProgramDiesWithAStarterThatIsKilled(t *testing.T) {
	table, dir := newTable(t, Detached)
	starter := exec.Command(os.Args[0])
	starter.Env = append(os.Environ(), starterVariable+"="+dir)
	output, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil || line != "<nil>\n" {
		t.Fatalf("the starter said %q, %v", line, err)
	}
	p, running := table.Lookup("program")
	if !running {
		t.Fatal("the program does not run")
	}
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait() // It was killed.
	eventually(t, "the program outlives its starter", func() bool { return !p.Alive() })
}
