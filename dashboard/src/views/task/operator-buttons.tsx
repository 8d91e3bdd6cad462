import { useEffect, useState } from 'react';
import { command } from '../../api/call.js';
import { refusalOf } from '../../api/refusal.js';
import { useReply } from '../../api/use-reply.js';
import { useIsAllowed } from '../../api/whoami.js';
import { ACTION_EFFECTS, ACTION_NAMES, type OperatorAction } from './operator-actions.js';
import { DialogButton, OperatorDialog } from './operator-dialog.js';

interface Target {
  readonly subject: string;
  readonly generation: number;
}

const DANGEROUS: ReadonlySet<string> = new Set(['force_release', 'reset', 'reassign']);

interface OperatorButtonsProps extends Target {
  readonly actions: readonly OperatorAction[];
  /** The action whose dialog is open at first. */
  readonly initialAction?: string | null;
  /** Called when the dialog of `initialAction` was opened. */
  readonly onOpened?: () => void;
}

/** The actions of an operator on a task. Each names the generation that the person saw. */
export function OperatorButtons({ actions, initialAction, onOpened, ...target }: OperatorButtonsProps) {
  const [openAction, setOpenAction] = useState<OperatorAction | null>(null);
  useEffect(() => {
    const action = actions.find((each) => each === initialAction);
    if (action === undefined) return;
    setOpenAction(action);
    onOpened?.();
  }, [actions, initialAction, onOpened]);
  // The button of an open dialog stays until the dialog is closed, even if the action is no longer offered.
  const shown = openAction === null || actions.includes(openAction) ? actions : [...actions, openAction];
  return (
    <div className="row">
      {shown.map((action) => (
        <OperatorButton
          key={action}
          {...target}
          action={action}
          isOpen={openAction === action}
          onOpen={(isOpen) => setOpenAction(isOpen ? action : null)}
        />
      ))}
    </div>
  );
}

function OperatorButton({
  action,
  isOpen,
  onOpen,
  ...target
}: Target & { action: OperatorAction; isOpen: boolean; onOpen: (isOpen: boolean) => void }) {
  if (!useIsAllowed(action)) return null;
  return (
    <DialogButton
      text={`${ACTION_NAMES[action]}…`}
      ariaLabel={`${ACTION_NAMES[action]} ${target.subject}…`}
      isDanger={DANGEROUS.has(action)}
      isOpen={isOpen}
      onOpen={onOpen}
    >
      {(close) =>
        action === 'reassign' ? (
          <ReassignDialog {...target} onClose={close} />
        ) : (
          <PlainDialog {...target} action={action} onClose={close} />
        )
      }
    </DialogButton>
  );
}

interface DialogProps extends Target {
  readonly onClose: () => void;
}

function dialogProps(action: keyof typeof ACTION_NAMES, { subject, onClose }: DialogProps) {
  return {
    title: `${ACTION_NAMES[action]} ${subject}`,
    effect: ACTION_EFFECTS[action],
    confirmText: ACTION_NAMES[action],
    unsentTextKey: `${action}:${subject}`,
    onClose,
  };
}

function PlainDialog({ action, ...props }: DialogProps & { action: Exclude<OperatorAction, 'reassign'> }) {
  const { subject, generation } = props;
  // The generation when the dialog was opened, so that the server refuses the action after a later change.
  const [expected_generation] = useState(generation);
  return (
    <OperatorDialog
      {...dialogProps(action, props)}
      send={(reason) => command(action, { expected_generation, reason }, { subject })}
    />
  );
}

function ReassignDialog(props: DialogProps) {
  const { subject, generation } = props;
  const [expected_generation] = useState(generation);
  const [agentId, setAgentId] = useState('');
  const [sessionId, setSessionId] = useState('');
  const { data } = useReply('agents', { query: { limit: 200 } });
  const agents = data?.agents ?? [];
  const sessions = agents.find(({ agent_id }) => agent_id === agentId)?.sessions ?? [];
  return (
    <OperatorDialog
      {...dialogProps('reassign', props)}
      missing={[...(agentId === '' ? ['an agent'] : []), ...(sessionId === '' ? ['a session'] : [])]}
      send={(reason) =>
        command(
          'reassign',
          { expected_generation, reason, agent_id: agentId, session_id: sessionId },
          { subject },
        )
      }
    >
      <label>
        Agent
        <input list="reassign-agents" value={agentId} onChange={(event) => setAgentId(event.target.value)} />
      </label>
      <label>
        Session
        <input
          list="reassign-sessions"
          value={sessionId}
          onChange={(event) => setSessionId(event.target.value)}
        />
      </label>
      <datalist id="reassign-agents">
        {agents.map(({ agent_id }) => (
          <option key={agent_id} value={agent_id} />
        ))}
      </datalist>
      <datalist id="reassign-sessions">
        {sessions.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </OperatorDialog>
  );
}

interface Adoption extends Target {
  readonly resultId: string;
  /** Whether the task has an accepted result, which must be reset first. */
  readonly isCompleted: boolean;
}

/** Makes a parked result the accepted one. */
export function AdoptButton(props: Adoption) {
  const canAdopt = useIsAllowed('adopt');
  const canReset = useIsAllowed('reset');
  const [isOpen, setOpen] = useState(false);
  if (!canAdopt || (props.isCompleted && !canReset)) return null;
  const name = ACTION_NAMES[adoptionOf(props)];
  return (
    <DialogButton
      text={`${name}…`}
      ariaLabel={`${name} ${props.resultId}…`}
      isDanger={props.isCompleted}
      isOpen={isOpen}
      onOpen={setOpen}
    >
      {(close) => <AdoptDialog {...props} onClose={close} />}
    </DialogButton>
  );
}

const adoptionOf = ({ isCompleted }: Adoption) => (isCompleted ? 'reset_and_adopt' : 'adopt');

function AdoptDialog(props: Adoption & DialogProps) {
  const { subject } = props;
  // The values when the dialog was opened, so that the server refuses the action after a later change.
  const [{ generation: expected_generation, resultId: result_id, isCompleted }] = useState(props);
  const send = async (reason: string): Promise<object> => {
    if (isCompleted) {
      const reset = await command('reset', { expected_generation, reason }, { subject });
      if (refusalOf(reset) !== null) return reset;
    }
    return command('adopt', { expected_generation, reason, result_id }, { subject });
  };
  return <OperatorDialog {...dialogProps(isCompleted ? 'reset_and_adopt' : 'adopt', props)} send={send} />;
}
