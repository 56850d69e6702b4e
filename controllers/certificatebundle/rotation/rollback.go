package rotation

import "fmt"

// changeDirection begins a rollback, or takes it back, and is whether it did. Both anchors are trusted wherever they were told, so
// neither needs to wait for anybody.
func (p *planner) changeDirection() bool {
	record := &p.plan.Record
	wanted := p.Spec.Rollback != 0 && p.Spec.Rollback == record.Next.Generation
	switch {
	case !active(record) || wanted == record.RollingBack:
		return false
	case record.Phase == Completing:
		p.notice(ReasonRollbackRefused, p.whyNoWayBack())
		return false
	case wanted && record.Adopted:
		p.notice(ReasonRollbackWaits, "the rollback waits until every cluster acknowledged both anchors, since the record of the rotation was lost")
		return false
	case wanted:
		record.RollingBack = true
		p.enter(Switching)
	default:
		record.RollingBack = false
		p.enter(Preparing)
	}
	return true
}

func (p *planner) whyNoWayBack() string {
	record := &p.plan.Record
	return fmt.Sprintf("the anchor of authority %d is being removed, so there is no way back: when authority %d is the only one, start a new rotation with another spec.rotation.ca",
		leaving(record).Generation, arriving(record).Generation)
}
