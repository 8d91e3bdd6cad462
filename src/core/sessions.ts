/** Owner of a session. Sessions opened before the log recorded principals have no principal. */
export interface SessionOwner {
  readonly principal?: string;
  readonly user_id: string | null;
}

/** The caller's properties that matter for sessions. */
interface SessionCaller {
  readonly principal: string;
  readonly user_id: string | null;
  readonly may_administer: boolean;
}

/**
 * Whether the caller may close a session, reopen it and work as its user: its opener, a credential of its user, or an
 * admin.
 */
export function canControlSession(owner: SessionOwner, caller: SessionCaller): boolean {
  if (caller.may_administer || owner.principal === caller.principal) return true;
  return caller.user_id !== null && owner.user_id === caller.user_id;
}

/**
 * Whether the caller may not act on a claim because of the claim's user (`userId`): another user, or none. An admin may act
 * on every claim.
 */
export const isClaimOfOtherUser = (userId: string | null, caller: SessionCaller): boolean =>
  !caller.may_administer && (userId === null || userId !== caller.user_id);

/** The prefix of the session id of an agent's inbox. The id is also the principal of the inbox's commands. */
export const INBOX_SESSION_PREFIX = 'inbox.';

/**
 * Whether the session id is reserved for the inbox of another principal, so that no other agent can open the session of an
 * inbox first. For an admin no id is reserved.
 */
export const isInboxOfOtherPrincipal = (
  sessionId: string,
  { principal, may_administer }: SessionCaller,
): boolean => sessionId.startsWith(INBOX_SESSION_PREFIX) && sessionId !== principal && !may_administer;

/**
 * Whether the caller may open a session for this user: callers may for their own user, and an admin for any. A session
 * without a user (`userId` null) is always allowed.
 */
export const canOpenSessionFor = (userId: string | null, caller: SessionCaller): boolean =>
  userId === null || userId === caller.user_id || caller.may_administer;
