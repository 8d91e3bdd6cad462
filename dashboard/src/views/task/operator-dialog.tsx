import { type FormEvent, type ReactNode, useId } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { useCommand } from '../../api/use-command.js';
import { RefusalText } from '../../components/refusal-text.js';
import { useUnsentText } from '../../components/use-unsent-text.js';

const REASON_LENGTH_MAX = 2000;

interface OperatorDialogProps {
  readonly title: string;
  readonly effect: string;
  /** The text of the button that sends the action. */
  readonly confirmText: string;
  readonly unsentTextKey: string;
  /** The inputs that are still missing, except the reason: `an agent`. */
  readonly missing?: readonly string[];
  readonly reasonLengthMax?: number;
  /** The text of the button that closes the dialog without effect. */
  readonly dismissText?: string;
  readonly children?: ReactNode;
  readonly send: (reason: string) => Promise<object>;
  readonly onClose: () => void;
}

/** Asks for the reason of an action, sends it, and shows why it was refused. Stays open after a refusal. */
export function OperatorDialog(props: OperatorDialogProps) {
  const { title, effect, confirmText, missing = [], children, onClose } = props;
  const { reasonLengthMax = REASON_LENGTH_MAX, dismissText = 'Cancel' } = props;
  const [reason, setReason] = useUnsentText(props.unsentTextKey);
  const { run, isBusy, refusal } = useCommand();
  const missingInputs = reason.trim() === '' ? [...missing, 'a reason'] : missing;
  const missingId = useId();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!(await run(() => props.send(reason.trim())))) return;
    setReason('');
    onClose();
  };
  return (
    <ModalOverlay
      className="dialog-ground"
      isOpen
      isDismissable
      onOpenChange={(isOpen) => isOpen || onClose()}
    >
      <Modal className="dialog">
        <Dialog>
          <form onSubmit={(event) => void submit(event)}>
            <Heading slot="title" level={2}>
              {title}
            </Heading>
            <p>{effect}</p>
            {children}
            <label>
              Reason
              <textarea
                required
                rows={3}
                maxLength={reasonLengthMax}
                value={reason}
                onChange={(event) => setReason(event.target.value)}
              />
            </label>
            <RefusalText refusal={refusal} />
            {missingInputs.length === 0 ? null : (
              <p className="quiet" id={missingId}>
                To continue, enter {missingInputs.join(' and ')}.
              </p>
            )}
            <div className="row">
              <button
                type="submit"
                className="primary"
                disabled={isBusy || missingInputs.length > 0}
                aria-describedby={missingInputs.length === 0 ? undefined : missingId}
              >
                {confirmText}
              </button>
              <button type="button" onClick={onClose}>
                {dismissText}
              </button>
            </div>
          </form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** A button that opens a dialog. */
export function DialogButton({
  text,
  ariaLabel,
  isDanger = false,
  isOpen,
  onOpen,
  children,
}: {
  text: string;
  ariaLabel: string;
  isDanger?: boolean;
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
  children: (close: () => void) => ReactNode;
}) {
  return (
    <>
      <button
        type="button"
        className={isDanger ? 'danger' : undefined}
        aria-label={ariaLabel}
        onClick={() => onOpen(true)}
      >
        {text}
      </button>
      {isOpen ? children(() => onOpen(false)) : null}
    </>
  );
}
