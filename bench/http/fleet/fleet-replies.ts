/** The reply to one command, kept for comparison with the log. */
export interface Word {
  readonly project_id: string;
  readonly task_id: string;
  readonly session_id: string;
  readonly generation: number;
}

/** All replies that the fleet received, by kind. */
export class Told {
  readonly granted: Word[] = [];
  readonly completed: Word[] = [];
  refused = 0;
  /** Requests without a reply: only the log shows whether they took effect. */
  unanswered = 0;
}
