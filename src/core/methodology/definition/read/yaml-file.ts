import type { z } from 'zod';
import type { ConfigFault } from '../../../contract/problem.js';
import { checkJsonShape, parseWithSchema, type ShapeFaultSink } from '../../../yaml/check-shape.js';
import { readYamlText } from '../../../yaml/read-yaml.js';
import {
  type DocumentPath,
  type LocatePath,
  pathText,
  type SourcePosition,
} from '../../../yaml/source-position.js';

/** Maximum length of a file, in characters. */
export const FILE_LENGTH_MAX = 256 * 1024;
const FAULTS_MAX = 100;

/** Collects faults and warnings about workspace files, up to a limit. */
export class ConfigFaultList {
  readonly faults: ConfigFault[] = [];
  readonly warnings: ConfigFault[] = [];

  fault(fault: ConfigFault): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push(fault);
  }
  warn(warning: ConfigFault): void {
    if (this.warnings.length < FAULTS_MAX) this.warnings.push(warning);
  }
}

/** Names that no field may have. A field `constructor` of a transition is allowed, as lookups check for own properties. */
const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['__proto__', 'prototype']);

/** A parsed workspace file: its value, and methods that report faults and warnings with their position. */
export class YamlFile implements ShapeFaultSink {
  readonly documentName = 'The file';
  readonly forbiddenNames = FORBIDDEN_NAMES;

  constructor(
    readonly name: string,
    readonly value: unknown,
    private readonly locate: LocatePath,
    private readonly faultList: ConfigFaultList,
    /** Built-in files may name edges that the topology does not have; these are ignored. */
    readonly isBuiltIn: boolean,
  ) {}

  /** Parses the content with a schema. `value`: the content to parse, if the caller has converted it. */
  parse<T>(schema: z.ZodType<T>, value = this.value): T | null {
    return parseWithSchema(schema, value, [], this);
  }

  add(_code: string, path: DocumentPath, message: string): void {
    this.fault(path, message);
  }
  fault(path: DocumentPath, message: string, position = this.locate(path)): void {
    this.faultList.fault(this.faultAt(path, message, position));
  }
  warn(path: DocumentPath, message: string): void {
    this.faultList.warn(this.faultAt(path, message, this.locate(path)));
  }

  private faultAt(path: DocumentPath, message: string, position: SourcePosition | null): ConfigFault {
    return { file: this.name, path: pathText(path), message, ...position };
  }
}

/**
 * Parses a file; null, with its faults reported, if it is unusable. Several documents are merged by their top-level
 * keys.
 */
export function openYamlFile(
  name: string,
  text: string,
  faultList: ConfigFaultList,
  isBuiltIn = false,
): YamlFile | null {
  if (text.length > FILE_LENGTH_MAX) {
    const message = `The file has ${text.length} characters; at most ${FILE_LENGTH_MAX} are allowed.`;
    faultList.fault({ file: name, path: '', message });
    return null;
  }
  const { value, faults: yamlFaults, locate } = readYamlText(text, 'merged');
  const file = new YamlFile(name, value, locate, faultList, isBuiltIn);
  for (const { path, message, source_position } of yamlFaults) file.fault(path, message, source_position);
  const faultCountBefore = faultList.faults.length;
  if (yamlFaults.length > 0 || !checkJsonShape(value, [], file)) return null;
  return faultList.faults.length === faultCountBefore ? file : null;
}
