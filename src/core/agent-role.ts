type ApplicableAgentRole =
  | { readonly ok: true; readonly agent_role: string | null }
  | { readonly ok: false; readonly message: string };

/**
 * The agent role that applies to a request. A credential limited to an agent role acts only in that role; other
 * credentials act in the role that the request names. The agent role is not the access role of the credential.
 */
export function applicableAgentRole(
  requestedRole: string | null,
  credentialAgentRole: string | null,
): ApplicableAgentRole {
  if (credentialAgentRole === null || requestedRole === null || requestedRole === credentialAgentRole)
    return { ok: true, agent_role: requestedRole ?? credentialAgentRole };
  const message = `this credential is limited to the agent role ${JSON.stringify(credentialAgentRole)} and cannot act as ${JSON.stringify(requestedRole)}; omit agent_role, or use a credential of that role`;
  return { ok: false, message };
}

/** Why a credential cannot act on a claim: the claim is in another role than the credential's. Null if it can. */
export function claimRoleFault(claimRole: string | null, credentialAgentRole: string | null): string | null {
  if (applicableAgentRole(claimRole, credentialAgentRole).ok) return null;
  return `This credential is limited to the agent role ${JSON.stringify(credentialAgentRole)}, and the claim is in the role ${JSON.stringify(claimRole)}.`;
}
