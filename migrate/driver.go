package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/golang-migrate/migrate/v4/database"

	"github.com/meminfra/memory-layer/meminfra/storage"
)

// LockTimeout bounds how long Up and Down wait for another process that
// migrates the same database; an earlier end of their context holds.
const LockTimeout = 60 * time.Second

// VersionTable is where golang-migrate keeps the version: a name of its own,
// because an application in the same schema may migrate with the same tool.
const VersionTable = "meminfra_migrations"

// The statements on the version table, the same in both dialects. The version
// is put in as a decimal number: the dialects disagree on the form of a
// parameter.
const (
	readVersion  = `SELECT version, dirty FROM ` + VersionTable + ` LIMIT 1`
	clearVersion = `DELETE FROM ` + VersionTable
	writeVersion = `INSERT INTO ` + VersionTable + ` (version, dirty) VALUES (%d, FALSE)`
)

// atomicDriver keeps the lock and version table of golang-migrate's driver but
// runs a step and the change of version as one transaction. golang-migrate
// calls SetVersion(v, dirty), Run(step), SetVersion(v, clean); its own drivers
// commit each by itself, and a process killed between them leaves the database
// dirty for good. Both databases roll back DDL, so here the last call does all
// three, or nothing.
//
// It lives for one Up or Down, which is why it may hold a context:
// golang-migrate's calls have none.
type atomicDriver struct {
	database.Driver
	ctx      context.Context
	db       *sql.DB
	migrator *Migrator
	body     []byte   // the step that Run was given
	done     []string // names of the steps that were committed
}

// Version refuses what must not be migrated, so it is checked under the lock.
// golang-migrate's SQLite driver also takes every error for an empty database.
func (d *atomicDriver) Version() (int, bool, error) {
	var version int
	var dirty bool
	err := d.db.QueryRowContext(d.ctx, readVersion).Scan(&version, &dirty)
	if errors.Is(err, sql.ErrNoRows) {
		return database.NilVersion, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if head, _ := d.migrator.Head(); dirty || version > int(head) {
		return 0, false, &storage.SchemaError{Have: uint(max(version, 0)), Want: head, Dirty: dirty}
	}
	return version, false, nil
}

// Run only takes the step; SetVersion runs it.
func (d *atomicDriver) Run(step io.Reader) (err error) {
	d.body, err = io.ReadAll(step)
	return err
}

func (d *atomicDriver) SetVersion(version int, dirty bool) error {
	if dirty {
		d.body = nil
		return nil
	}
	before, _, err := d.Version()
	if err != nil {
		return err
	}
	tx, err := d.db.BeginTx(d.ctx, nil)
	if err != nil {
		return err
	}
	if err := d.commit(tx, version); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	name, verb := d.migrator.stepName(uint(max(version, 0))), "applied"
	if version < before {
		name, verb = d.migrator.stepName(uint(before)), "undid"
	}
	d.done = append(d.done, name)
	d.migrator.logf("%s %s", verb, name)
	return nil
}

func (d *atomicDriver) commit(tx *sql.Tx, version int) error {
	statements := []string{string(d.body), clearVersion}
	if version >= 0 {
		statements = append(statements, fmt.Sprintf(writeVersion, version))
	}
	for _, s := range statements {
		if _, err := tx.ExecContext(d.ctx, s); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// ignoreDone drops the complaint about a transaction that has ended already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
