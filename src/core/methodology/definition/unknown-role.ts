import { didYouMean } from '../../closest-names.js';
import type { Methodology } from './methodology.js';

/** Says that the project does not have this agent role, and names its roles; null if the project has the role. */
export function unknownRoleText({ roles }: Pick<Methodology, 'roles'>, agentRole: string): string | null {
  const names = Object.keys(roles.roles);
  if (names.includes(agentRole)) return null;
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
  const knownRoles = `Its roles: ${names.slice(0, NAMED_MAX).join(', ')}${more}.`;
  return `The project has no role ${agentRole}.${didYouMean(agentRole, names)} ${names.length === 0 ? 'It has no roles.' : knownRoles}`;
}

const NAMED_MAX = 20;
