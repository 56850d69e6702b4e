package fleet

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestOfAnErrorNoMoreIsKeptThanIsTold(t *testing.T) {
	long := strings.Repeat("x", 2*(4<<10))
	cause := `{"reason":"FieldValueInvalid","field":"metadata.uid","message":"` + long + `"}`
	failure := func(message string, causes int) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":422,"reason":"Invalid","message":%q,"details":{"name":"one","causes":[%s]}}`,
			message, strings.TrimSuffix(strings.Repeat(cause+",", causes), ","))
	}
	for name, c := range map[string]struct {
		answer string
		says   string
		// another is whether it tells that the object is another one.
		another bool
	}{
		"short":               {failure("spec is wrong", 0), "spec is wrong", false},
		"a long message":      {failure(long, 1), "xxx", true},
		"many causes":         {failure("spec is wrong", 20), "spec is wrong", true},
		"more than is read":   {failure(strings.Repeat("x", 256<<10), 1), "not read any further", false},
		"no error of its own": {`<html>` + long, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, cluster := widgets(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = io.WriteString(w, c.answer)
			})
			_, err := cluster.Apply(t.Context(), widget, "", []byte(`{}`), true)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), c.says) || IsAnother(err) != c.another {
				t.Errorf("the error is %.200v", err)
			}
			status, _ := err.(apierrors.APIStatus)
			kept := len(err.Error())
			if details := status.Status().Details; details != nil {
				for _, cause := range details.Causes {
					kept += len(cause.Message)
				}
			}
			if most := (16 + 2) * (4 << 10); kept > most {
				t.Errorf("%d bytes of it are kept, more than %d", kept, most)
			}
		})
	}
}
