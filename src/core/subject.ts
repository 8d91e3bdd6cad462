/**
 * Kinds of subject. Tasks and edges can be claimed. Every other subject, such as the plan, the policy or a session, counts as
 * a record and starts with `~`, with which no task id and no feature id can start. Some of these subjects have no head: their
 * comments below say so.
 */
export type SubjectKind = 'task' | 'edge' | 'record';

export function subjectKindOf(subject: string): SubjectKind {
  if (subject.startsWith('~')) return 'record';
  return subject.includes('#') ? 'edge' : 'task';
}

export const PLAN_SUBJECT = '~plan';
export const POLICY_SUBJECT = '~policy';
export const LIMITS_SUBJECT = '~limits';
/** Events of this subject list what retention has redacted in the log. The subject has no head. */
export const HISTORY_SUBJECT = '~history';
/** The record of the losses of history that an operator accepted. */
export const LOSS_SUBJECT = '~loss';
/** Events of this subject are the checkpoints of the log, the keys that sign them, and alarms. The subject has no head. */
export const AUDIT_SUBJECT = '~audit';
/** Events of this subject, in the tenant's log, are checkpoints of a project of another store. The subject has no head. */
export const anchorSubject = (projectId: string): string => `~anchor/${projectId}`;
/** The project's methodology. In a project without one, nothing but the names of edges is known. */
export const METHODOLOGY_SUBJECT = '~methodology';
export const featureSubject = (featureId: string): string => `~feature/${featureId}`;
const SESSION_PREFIX = '~session/';
export const sessionSubject = (sessionId: string): string => `${SESSION_PREFIX}${sessionId}`;
export const sessionIdOf = (subject: string): string | null =>
  subject.startsWith(SESSION_PREFIX) ? subject.slice(SESSION_PREFIX.length) : null;
export const keySubject = (keyId: string): string => `~key/${keyId}`;
/**
 * Once this record exists, a key of the log is valid only with a proof that the store of this log created it: its
 * `binding`.
 */
export const KEY_BINDING_SUBJECT = '~key_binding';
/** Tasks that an agent proposed. */
export const proposalSubject = (proposalId: string): string => `~proposal/${proposalId}`;
/** The processes that run checks and sign the results. */
export const RUNNERS_SUBJECT = '~runners';
/** The candidate of an edge, and the evidence about it. */
export const candidateSubject = (edge: string): string => `~candidate/${edge}`;
/**
 * The record whose seq is the version of the base. It is created with the project's first candidate, and then rises with
 * every accepted result of an edge, which makes older evidence void.
 */
export const BASE_SUBJECT = '~base';
/** Each one-time operation has its own record, whose first event is the operation. A second attempt finds this event. */
export const foldBackSubject = (featureId: string): string => `~fold_back/${featureId}`;
export const releaseSubject = (version: string): string => `~release/${version}`;

/** Project for data of a whole tenant. Not a valid name for a user's project. */
export const TENANT_PROJECT = '_tenant';
/** Tenant for data of the whole platform: its keys. Not a valid name for a user's tenant. */
export const PLATFORM_TENANT = '_genesis';

/** Envelope fields that identify a task or an edge; none for a record. */
export function subjectKeys(subject: string): { task_id?: string; feature_id?: string; edge?: string } {
  const kind = subjectKindOf(subject);
  if (kind === 'record') return {};
  if (kind === 'task') return { task_id: subject };
  const separatorIndex = subject.indexOf('#');
  return { feature_id: subject.slice(0, separatorIndex), edge: subject.slice(separatorIndex + 1) };
}
