/** The reply to one command, kept for comparison with the log. */
export interface ReplyRecord {
  readonly project_id: string;
  readonly task_id: string;
  readonly session_id: string;
  readonly generation: number;
}

/** The replies that the fleet received: grants and completions as records, the others as numbers. */
export class FleetReplies {
  readonly granted: ReplyRecord[] = [];
  readonly completed: ReplyRecord[] = [];
  refused = 0;
  /** Requests without a reply: only the log shows whether they took effect. */
  unanswered = 0;
}
