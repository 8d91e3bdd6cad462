import type { Mutant } from './mutant.js';
import { ACCESS_MUTANTS } from './tables/access.js';
import { AUDIT_MUTANTS } from './tables/audit.js';
import { CONNECTION_MUTANTS } from './tables/connections.js';
import { COORDINATOR_MUTANTS } from './tables/coordinator.js';
import { DAMAGE_MUTANTS } from './tables/damage.js';
import { FILE_MUTANTS } from './tables/file-store.js';
import { FOLD_MUTANTS } from './tables/fold.js';
import { INBOX_MUTANTS } from './tables/inbox.js';
import { LEDGER_MUTANTS } from './tables/ledger.js';
import { METHODOLOGY_MUTANTS } from './tables/methodology.js';
import { OUTAGE_MUTANTS } from './tables/outage.js';
import { REVOCATION_MUTANTS } from './tables/revocation.js';
import { RULE_MUTANTS } from './tables/rules.js';
import { RUN_MUTANTS } from './tables/runs.js';
import { SERVER_LOG_MUTANTS } from './tables/server-logs.js';
import { WAL_MUTANTS } from './tables/wal.js';
import { WORKSPACE_SECURITY_MUTANTS } from './tables/workspace-security.js';

/**
 * All mutants. The search, the simulator or, for a mutant that names tests, those tests must catch it. A
 * mutant without an observable effect does not belong here.
 */
export const MUTANTS: readonly Mutant[] = [
  ...RULE_MUTANTS,
  ...FOLD_MUTANTS,
  ...COORDINATOR_MUTANTS,
  ...LEDGER_MUTANTS,
  ...FILE_MUTANTS,
  ...WAL_MUTANTS,
  ...DAMAGE_MUTANTS,
  ...OUTAGE_MUTANTS,
  ...METHODOLOGY_MUTANTS,
  ...INBOX_MUTANTS,
  ...WORKSPACE_SECURITY_MUTANTS,
  ...ACCESS_MUTANTS,
  ...REVOCATION_MUTANTS,
  ...CONNECTION_MUTANTS,
  ...SERVER_LOG_MUTANTS,
  ...AUDIT_MUTANTS,
  ...RUN_MUTANTS,
];
