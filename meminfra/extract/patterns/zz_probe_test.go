package patterns_test
import ("testing";"context";"os";"strings")
func TestProbe(t *testing.T){
 b,_:=os.ReadFile("/tmp/probe.txt"); e:=extractor(t)
 for _,l:=range strings.Split(strings.TrimSpace(string(b)),"\n"){
  out,_:=e.Extract(context.Background(), say("user",l,sent,0))
  s:=l+"\n"
  for _,c:=range out.Candidates { s+="      "+label(c)+" ["+c.Value+"] "+c.Stated.From.Format("2006-01-02")+".."+c.Stated.To.Format("2006-01-02")+" "+c.Vague.Words+"\n" }
  t.Log(s)
 }
}
