import { didYouMean } from '../../closest-names.js';
import type { Methodology } from './methodology.js';

/** Why an agent cannot work in this role: the project does not have it. Null if it has. */
export function unknownRoleReason({ roles }: Pick<Methodology, 'roles'>, role: string): string | null {
  const names = Object.keys(roles.roles);
  if (names.includes(role)) return null;
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
  const known = `Its roles: ${names.slice(0, NAMED_MAX).join(', ')}${more}.`;
  return `The project has no role ${role}.${didYouMean(role, names)} ${names.length === 0 ? 'It has none.' : known}`;
}

const NAMED_MAX = 20;
