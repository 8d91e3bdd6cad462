/** What one command was told, to be held against the log afterwards. */
export interface Word {
  readonly project_id: string;
  readonly task_id: string;
  readonly session_id: string;
  readonly generation: number;
}

/** Everything the fleet was told, by the kind of answer. */
export class Told {
  readonly granted: Word[] = [];
  readonly completed: Word[] = [];
  refused = 0;
  /** Requests without an answer: whether they happened, only the log knows. */
  unanswered = 0;
}
