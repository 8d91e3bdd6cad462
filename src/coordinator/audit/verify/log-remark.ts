/** A violation of a rule by a log, or a note on a log, with the place in the log. */
export interface LogRemark {
  readonly file: string;
  readonly line: number;
  /** If a whole block is broken: its last line. */
  readonly last_line?: number;
  /**
   * `CHAIN`: the log itself is damaged. `INV-nn`: its events violate an invariant. `RUN-nn`: the events of a run violate
   * a rule of runs. `TRAILING`: lines were not read. `AUDIT` and `ANCHOR` come with the code of a fault in checkpoints,
   * keys or anchors; `AUDIT` alone says between which positions the log begins to differ. Others are `SIGNATURE`,
   * `UNSIGNED` and `IMPORT`.
   */
  readonly rule: string;
  readonly subject: string | null;
  readonly says: string;
}

/** The rule of a remark on an audit key that no anchor vouches for. Only the owner of the log can confirm the key. */
export const UNVOUCHED_KEY = 'ANCHOR UNVOUCHED_KEY';
