import { readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Workspace } from '../../workspace/workspace.js';
import { wrongUsage } from '../exit.js';
import { writeNew } from './write-new.js';

export const RECOMMENDATIONS = ['proceed', 'pivot', 'abandon'] as const;
export type Recommendation = (typeof RECOMMENDATIONS)[number];

interface FoldBackFindings {
  readonly summary: string;
  readonly recommendation: Recommendation;
  readonly artifacts: readonly string[];
}

const ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;

/** What a side question found, for people: `features/fold-back/<child>.md`. A file that is there already stands. */
export class FoldBackFile {
  private isCreated = false;

  private constructor(
    private readonly workspace: Workspace,
    /** From the project's folder. */
    readonly path: string,
    /** What a person wrote before; null: nothing yet. */
    readonly text: string | null,
  ) {}

  static async open(workspace: Workspace, child: string): Promise<FoldBackFile> {
    if (!ID.test(child)) throw wrongUsage(`${child} is no feature's id. What there is: gen status`);
    const path = join('.ai-workspace', 'features', 'fold-back', `${child}.md`);
    const text = await readFile(join(workspace.root, path), 'utf8').catch(() => null);
    return new FoldBackFile(workspace, path, text === null || text.trim() === '' ? null : text);
  }

  async write({ summary, recommendation, artifacts }: FoldBackFindings): Promise<void> {
    if (this.text !== null) return;
    const listed = artifacts.length === 0 ? 'none' : `\n\n${artifacts.map((each) => `- ${each}`).join('\n')}`;
    const text = `# Fold-back\n\n${summary}\n\nRecommendation: ${recommendation}\n\nArtifacts: ${listed}\n`;
    this.isCreated = await writeNew(join(this.workspace.root, this.path), text);
  }

  /** The answer was no: what was written for it goes, what others wrote stays. */
  async undo(): Promise<void> {
    if (this.isCreated) await unlink(join(this.workspace.root, this.path));
  }
}
