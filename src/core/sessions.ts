/** Who a session belongs to. Sessions that were opened before the log named principals have none. */
export interface SessionOwner {
  readonly principal?: string;
  readonly user_id: string | null;
}

/** A caller, as far as it matters for sessions. */
export interface SessionCaller {
  readonly principal: string;
  readonly user_id: string | null;
  readonly may_administer: boolean;
}

/** Controls a session (closes it, opens it again, works under its user): its opener, a credential of its user, an admin. */
export function controlsSession(owner: SessionOwner, caller: SessionCaller): boolean {
  if (caller.may_administer || owner.principal === caller.principal) return true;
  return caller.user_id !== null && owner.user_id === caller.user_id;
}

/** A session may be opened for the caller's own user; for another user only by an admin. Null: for no user. */
export const opensSessionFor = (userId: string | null, caller: SessionCaller): boolean =>
  userId === null || userId === caller.user_id || caller.may_administer;
