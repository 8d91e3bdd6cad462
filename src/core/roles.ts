/** What a credential is for. Which role may do what is decided at the door. */
export const ROLES = ['viewer', 'agent', 'reviewer', 'admin', 'operator'] as const;
export type Role = (typeof ROLES)[number];
