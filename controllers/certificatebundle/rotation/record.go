package rotation

// arriving is the authority that leaves are to be from in the end.
func arriving(r *Record) Reference {
	if r.Next.Generation == 0 || r.RollingBack {
		return r.Current
	}
	return r.Next
}

// leaving is the authority whose anchor is to go.
func leaving(r *Record) Reference {
	if r.RollingBack {
		return r.Next
	}
	return r.Current
}

// active is whether a rotation is under way.
func active(r *Record) bool { return r.Phase != "" && r.Phase != Idle }

// nothingIssued is whether the rotation goes back before there could be any leaf of the next authority.
func nothingIssued(r *Record) bool { return r.RollingBack && !r.Issued }

// Resting is what every cluster is told between rotations; false during one, and until the authority is made.
func Resting(r Record) (Told, bool) {
	if r.Phase != Idle || r.Current.Anchor == "" {
		return Told{}, false
	}
	return only(r.Current), true
}
