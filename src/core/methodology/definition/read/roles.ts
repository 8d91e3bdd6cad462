import { z } from 'zod';
import { OUTSIDE_AUTHORITY_ACTIONS } from '../../../contract/values.js';
import type { RoleRegistry } from '../methodology.js';
import type { EdgeNameIndex } from './edge-names.js';
import { description, optionalSection, orElse, shortText, shortTexts } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const role = z.object({ description, converge_edges: z.union([z.literal('all'), shortTexts]) });
const schema = z.object({
  roles: z
    .record(shortText, role)
    .refine((roles) => Object.keys(roles).length <= 200, { error: 'expected at most 200 roles' }),
  authority: optionalSection({
    outside_authority_action: orElse(z.enum(OUTSIDE_AUTHORITY_ACTIONS), 'escalate'),
    spec_mutation_requires_human: orElse(z.boolean(), true),
  }),
});

export function parseRoles(file: YamlFile, names: EdgeNameIndex): RoleRegistry | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const roles: Record<string, RoleRegistry['roles'][string]> = {};
  for (const [name, { description, converge_edges: edges }] of Object.entries(parsed.roles)) {
    const path = ['roles', name, 'converge_edges'];
    const isAll = edges === 'all' || edges.includes('all');
    roles[name] = {
      description,
      converge_edges: isAll ? 'all' : names.resolveEdgesOrTargets(edges, file, path),
    };
  }
  return { roles, ...parsed.authority };
}
