/** The agent, with its default role, of a project whose coordination file says that a single agent owns the log. */
export const SINGLE_AGENT = { agent_id: 'primary', agent_role: 'full_stack' } as const;
