import type { z } from 'zod';
import { type Locate, type Path, type Place, pathText } from '../../yaml/place.js';
import { readYamlText } from '../../yaml/read-yaml.js';
import { checkJson, fits, type ShapeFaults } from '../../yaml/shape.js';
import type { ConfigFault } from '../methodology.js';
import type { Findings } from './findings.js';

/** In characters. */
export const FILE_LENGTH_MAX = 256 * 1024;

/** Transitions have a `constructor` in this family; nothing here looks a name up but among an object's own. */
const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['__proto__', 'prototype']);

/** A file of the workspace, read: its values, and a place for everything that is said about them. */
export class YamlFile implements ShapeFaults {
  readonly whole = 'The file';
  readonly forbidden = FORBIDDEN_NAMES;

  constructor(
    readonly name: string,
    readonly value: unknown,
    private readonly locate: Locate,
    private readonly findings: Findings,
    /** Nobody wrote it: what it says of edges that the topology does not have is left out. */
    readonly is_built_in: boolean,
  ) {}

  fits<T>(schema: z.ZodType<T>): T | null {
    return fits(schema, this.value, [], this);
  }

  badValue(path: Path, message: string): void {
    this.fault(path, message);
  }
  unknownField(path: Path, message: string): void {
    this.fault(path, message);
  }
  fault(path: Path, message: string, place: Place | null = this.locate(path)): void {
    this.findings.fault(this.finding(path, message, place));
  }
  warn(path: Path, message: string): void {
    this.findings.warn(this.finding(path, message, this.locate(path)));
  }

  private finding(path: Path, message: string, place: Place | null): ConfigFault {
    return { file: this.name, path: pathText(path), message, ...(place ?? {}) };
  }
}

/** Null, with its faults told, where the text cannot be used. Several documents are one by their top-level keys. */
export function openYamlFile(
  name: string,
  text: string,
  findings: Findings,
  is_built_in = false,
): YamlFile | null {
  if (text.length > FILE_LENGTH_MAX) {
    const message = `The file has ${text.length} characters; at most ${FILE_LENGTH_MAX} are read.`;
    findings.fault({ file: name, path: '', message });
    return null;
  }
  const { value, problems, locate } = readYamlText(text, 'merged');
  const file = new YamlFile(name, value, locate, findings, is_built_in);
  for (const { path, message, place } of problems) file.fault(path, message, place);
  const clean = findings.faults.length;
  if (problems.length > 0 || !checkJson(value, [], file)) return null;
  return findings.faults.length === clean ? file : null;
}
