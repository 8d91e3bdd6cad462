import { z } from 'zod';
import type { ModuleMap } from '../methodology.js';
import { label } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const modules = z.array(label).max(1000);
const byName = z.record(label, modules.nullable());
const schema = z.object({ feature_module_map: byName.nullish(), dependency_dag: byName.nullish() });

export function readModules(file: YamlFile): ModuleMap | null {
  const said = file.fits(schema);
  if (said === null) return null;
  return {
    feature_module_map: listsOf(said.feature_module_map),
    dependency_dag: listsOf(said.dependency_dag),
  };
}

const listsOf = (lists: Record<string, string[] | null> | null | undefined): Record<string, string[]> =>
  Object.fromEntries(Object.entries(lists ?? {}).map(([name, list]) => [name, [...new Set(list ?? [])]]));
