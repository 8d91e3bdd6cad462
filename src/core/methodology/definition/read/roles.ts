import { z } from 'zod';
import { type AgentRole, AUTHORITY_ACTIONS, type RoleRegistry } from '../methodology.js';
import type { EdgeNameIndex } from './edge-names.js';
import { booleanField, longText, shortText, shortTexts } from './fields.js';
import { EdgeListResolver } from './profile.js';
import type { YamlFile } from './yaml-file.js';

const schema = z.object({
  roles: z
    .record(
      shortText,
      z.object({ description: longText.nullish(), converge_edges: z.union([z.literal('all'), shortTexts]) }),
    )
    .refine((roles) => Object.keys(roles).length <= 200, { error: 'expected at most 200 roles' }),
  authority: z
    .object({
      outside_authority_action: z.enum(AUTHORITY_ACTIONS).nullish(),
      spec_mutation_requires_human: booleanField.nullish(),
    })
    .nullish(),
});

export function parseRoles(file: YamlFile, names: EdgeNameIndex): RoleRegistry | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const edges = new EdgeListResolver(file, names);
  const roles: Record<string, AgentRole> = {};
  for (const [role, { description, converge_edges }] of Object.entries(parsed.roles)) {
    const all = converge_edges === 'all' || converge_edges.includes('all');
    roles[role] = {
      description: description?.trim() ?? '',
      converge_edges: all
        ? 'all'
        : edges.resolveAll(converge_edges as string[], ['roles', role, 'converge_edges']),
    };
  }
  return {
    roles,
    outside_authority_action: parsed.authority?.outside_authority_action ?? 'escalate',
    spec_mutation_requires_human: parsed.authority?.spec_mutation_requires_human ?? true,
  };
}
