"""The table of the service's operations: what runs, and whether it writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pairs_to_words.annotation.server import (
    hit_operations,
    notification_operations,
    policy_results,
    qualification_operations,
    requester,
    review,
    worker_operations,
)
from pairs_to_words.annotation.server.faults import RequestError
from pairs_to_words.annotation.server.memory import Call


@dataclass(frozen=True)
class Operation:
    """One operation of the service.

    Attributes:
        run: What it does, inside one transaction.
        writes: It needs the writer; without, it runs beside submits.
    """

    run: Callable[[Call], dict[str, Any]]
    writes: bool


def _get_file_upload_url(call: Call) -> dict[str, Any]:
    # The service removed file-upload answers in December 2017; the operation stayed in the model.
    review.own_assignment(call)
    raise RequestError(
        "InvalidAssignmentState",
        "FileUploadAnswer is not supported: the assignment has no uploaded file for the question "
        f"{call.params['QuestionIdentifier']}.",
    )


def _reads(run: Callable[[Call], dict[str, Any]]) -> Operation:
    return Operation(run, writes=False)


def _writes(run: Callable[[Call], dict[str, Any]]) -> Operation:
    return Operation(run, writes=True)


OPERATIONS: dict[str, Operation] = {
    "AcceptQualificationRequest": _writes(qualification_operations.accept_request),
    "ApproveAssignment": _writes(review.approve_assignment),
    "AssociateQualificationWithWorker": _writes(qualification_operations.associate),
    "CreateAdditionalAssignmentsForHIT": _writes(hit_operations.create_additional_assignments),
    "CreateHIT": _writes(hit_operations.create_hit),
    "CreateHITType": _writes(hit_operations.create_hit_type),
    "CreateHITWithHITType": _writes(hit_operations.create_hit_with_hit_type),
    "CreateQualificationType": _writes(qualification_operations.create_qualification_type),
    "CreateWorkerBlock": _writes(worker_operations.create_worker_block),
    "DeleteHIT": _writes(hit_operations.delete_hit),
    "DeleteQualificationType": _writes(qualification_operations.delete_qualification_type),
    "DeleteWorkerBlock": _writes(worker_operations.delete_worker_block),
    "DisassociateQualificationFromWorker": _writes(qualification_operations.disassociate),
    "GetAccountBalance": _reads(requester.get_account_balance),
    "GetAssignment": _reads(review.get_assignment),
    "GetFileUploadURL": _reads(_get_file_upload_url),
    "GetHIT": _reads(hit_operations.get_hit),
    "GetQualificationScore": _reads(qualification_operations.get_score),
    "GetQualificationType": _reads(qualification_operations.get_qualification_type),
    "ListAssignmentsForHIT": _reads(review.list_assignments),
    "ListBonusPayments": _reads(review.list_bonus_payments),
    "ListHITs": _reads(hit_operations.list_hits),
    "ListHITsForQualificationType": _reads(qualification_operations.list_hits_for_type),
    "ListQualificationRequests": _reads(qualification_operations.list_requests),
    "ListQualificationTypes": _reads(qualification_operations.list_qualification_types),
    "ListReviewPolicyResultsForHIT": _reads(policy_results.list_policy_results),
    "ListReviewableHITs": _reads(hit_operations.list_reviewable_hits),
    "ListWorkerBlocks": _reads(worker_operations.list_worker_blocks),
    "ListWorkersWithQualificationType": _reads(qualification_operations.list_workers),
    "NotifyWorkers": _writes(worker_operations.notify_workers),
    "RejectAssignment": _writes(review.reject_assignment),
    "RejectQualificationRequest": _writes(qualification_operations.reject_request),
    "SendBonus": _writes(review.send_bonus),
    "SendTestEventNotification": _writes(notification_operations.send_test_event),
    "UpdateExpirationForHIT": _writes(hit_operations.update_expiration),
    "UpdateHITReviewStatus": _writes(hit_operations.update_review_status),
    "UpdateHITTypeOfHIT": _writes(hit_operations.update_hit_type),
    "UpdateNotificationSettings": _writes(notification_operations.update_settings),
    "UpdateQualificationType": _writes(qualification_operations.update_qualification_type),
}
