/** One event as every log, feed and page shows it. Field by field the envelope of the wire contract. */
export interface EventEnvelope {
  event_id: string;
  event_type: string;
  /** ISO-8601 UTC with milliseconds. Data, never order: order is `position` and `seq`. */
  timestamp: string;
  tenant_id: string;
  project_id: string;
  /** 1, 2, 3 … within the project, given in the commit, without gaps. */
  position: number;
  subject?: string;
  /** 1, 2, 3 … within the subject; only events that move its head carry one. */
  seq?: number;
  task_id?: string;
  feature_id?: string;
  edge?: string;
  agent_id: string;
  agent_role?: string;
  session_id?: string;
  generation?: number;
  request_id?: string;
  payload: Readonly<Record<string, unknown>>;
}

/** What a rule says happened, before the coordinator names it and the store gives it a place. */
export type EventDraft = Omit<EventEnvelope, 'event_id' | 'tenant_id' | 'project_id' | 'position'>;

/** What goes into a commit: everything but the position, which the commit gives. */
export type NewEvent = Omit<EventEnvelope, 'position'>;

export const isoTime = (at_ms: number): string => new Date(at_ms).toISOString();
export const msOf = (iso: string): number => Date.parse(iso);
