// Package details reads what the bucket alone tells of backups: their size, their errors, and the volumes that they have. A plan
// says which backups are to be read, so that none is read twice, and one that cannot be read holds up no other.
package details
