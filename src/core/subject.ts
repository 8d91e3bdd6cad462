/**
 * Everything that has a head is a subject. Tasks and edges can be claimed; the project's own records
 * (plan, policy, methodology, features, sessions, limits, keys) start with `~`, which no task id and no feature id can.
 */
export type SubjectKind = 'task' | 'edge' | 'record';

export function subjectKindOf(subject: string): SubjectKind {
  if (subject.startsWith('~')) return 'record';
  return subject.includes('#') ? 'edge' : 'task';
}

export const PLAN_SUBJECT = '~plan';
export const POLICY_SUBJECT = '~policy';
export const LIMITS_SUBJECT = '~limits';
/** Has no head: under it the log tells what retention took out of it. */
export const HISTORY_SUBJECT = '~history';
/** What the project says of how it works. Without it a project knows edges by their names alone. */
export const METHODOLOGY_SUBJECT = '~methodology';
export const featureSubject = (featureId: string): string => `~feature/${featureId}`;
const SESSION_PREFIX = '~session/';
export const sessionSubject = (sessionId: string): string => `${SESSION_PREFIX}${sessionId}`;
export const sessionIdOf = (subject: string): string | null =>
  subject.startsWith(SESSION_PREFIX) ? subject.slice(SESSION_PREFIX.length) : null;
export const keySubject = (keyId: string): string => `~key/${keyId}`;
/** From its first event on, keys of this log must be bound to the store. */
export const KEY_BINDING_SUBJECT = '~key_binding';
/** What happens once has a record of its own, whose first event is the deed: of two, one finds it there. */
export const foldBackSubject = (featureId: string): string => `~fold_back/${featureId}`;
export const releaseSubject = (version: string): string => `~release/${version}`;

/** The project that holds what belongs to a whole tenant. No project of a user can be called so. */
export const TENANT_PROJECT = '_tenant';
/** The tenant that holds what belongs to the whole platform: its keys. No tenant of a user can be called so. */
export const PLATFORM_TENANT = '_genesis';

export interface SubjectKeys {
  task_id?: string;
  feature_id?: string;
  edge?: string;
}

/** The envelope fields by which people look a subject up. */
export function subjectKeys(subject: string): SubjectKeys {
  switch (subjectKindOf(subject)) {
    case 'task':
      return { task_id: subject };
    case 'edge': {
      const cut = subject.indexOf('#');
      return { feature_id: subject.slice(0, cut), edge: subject.slice(cut + 1) };
    }
    case 'record':
      return {};
  }
}
