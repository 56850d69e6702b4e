// Package repositorypassword is about the password with which Velero encrypts its repositories, which hold the data of volumes:
// where it comes from in the management cluster, and what Velero has in a cluster. Velero has one for all repositories of a
// cluster, and cannot change that of a repository that exists.
package repositorypassword
