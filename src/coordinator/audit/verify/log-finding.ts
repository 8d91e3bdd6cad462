/** Something that was found in a log, and its place: a broken rule, or something worth a note. */
export interface LogFinding {
  readonly file: string;
  readonly line: number;
  /** If a whole block is broken: its last line. */
  readonly last_line?: number;
  /**
   * `CHAIN`: the log itself is damaged. `INV-nn`: its events violate an invariant. `RUN-nn`: the events of a run violate
   * a rule of runs. `TRAILING`: lines were not read.
   */
  readonly rule: string;
  readonly subject: string | null;
  readonly says: string;
}

/**
 * The rule of a finding about a key that no anchor vouches for; only its owner knows whether it is genuine.
 */
export const UNVOUCHED_KEY = 'ANCHOR UNVOUCHED_KEY';
