import type { Mutant } from './mutant.js';
import { COORDINATOR_MUTANTS } from './tables/coordinator.js';
import { FILE_MUTANTS } from './tables/file-store.js';
import { FOLD_MUTANTS } from './tables/fold.js';
import { INBOX_MUTANTS } from './tables/inbox.js';
import { LEDGER_MUTANTS } from './tables/ledger.js';
import { METHODOLOGY_MUTANTS } from './tables/methodology.js';
import { RULE_MUTANTS } from './tables/rules.js';

/** Every fault that the search, the simulator or, where it says so, its tests must find. One that changes nothing observable does not belong here. */
export const MUTANTS: readonly Mutant[] = [
  ...RULE_MUTANTS,
  ...FOLD_MUTANTS,
  ...COORDINATOR_MUTANTS,
  ...LEDGER_MUTANTS,
  ...FILE_MUTANTS,
  ...METHODOLOGY_MUTANTS,
  ...INBOX_MUTANTS,
];
