import { z } from 'zod';
import { type AgentRole, AUTHORITY_ACTIONS, type RoleRegistry } from '../methodology.js';
import type { EdgeNames } from './edge-names.js';
import { flag, label, labels, words } from './fields.js';
import { ListedEdges } from './profile.js';
import type { YamlFile } from './yaml-file.js';

const schema = z.object({
  roles: z
    .record(
      label,
      z.object({ description: words.nullish(), converge_edges: z.union([z.literal('all'), labels]) }),
    )
    .refine((roles) => Object.keys(roles).length <= 200, { error: 'expected at most 200 roles' }),
  authority: z
    .object({
      outside_authority_action: z.enum(AUTHORITY_ACTIONS).nullish(),
      spec_mutation_requires_human: flag.nullish(),
    })
    .nullish(),
});

export function readRoles(file: YamlFile, names: EdgeNames): RoleRegistry | null {
  const said = file.fits(schema);
  if (said === null) return null;
  const edges = new ListedEdges(file, names);
  const roles: Record<string, AgentRole> = {};
  for (const [role, { description, converge_edges }] of Object.entries(said.roles)) {
    const all = converge_edges === 'all' || converge_edges.includes('all');
    roles[role] = {
      description: description?.trim() ?? '',
      converge_edges: all ? 'all' : edges.read(converge_edges as string[], ['roles', role, 'converge_edges']),
    };
  }
  return {
    roles,
    outside_authority_action: said.authority?.outside_authority_action ?? 'escalate',
    spec_mutation_requires_human: said.authority?.spec_mutation_requires_human ?? true,
  };
}
